"""From records to Arrow: rows, strings, properties, columns, and filters on them."""
