"""The Spark face of `native_reader`. Nothing is here yet."""
