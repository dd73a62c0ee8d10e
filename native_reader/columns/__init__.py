"""Records to Arrow: rows, strings, properties, columns, and the filter on them."""
