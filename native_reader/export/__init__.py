"""The export of a scan to files: it can be stopped at any time and continued, and then has each row once."""
