"""What the engine says, in Chinese, by the same kinds. The engine has the English."""
