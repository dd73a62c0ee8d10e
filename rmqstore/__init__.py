"""The command `rmqstore` and its page: `native_reader` for operators. They ask the engine and print what it returns."""
