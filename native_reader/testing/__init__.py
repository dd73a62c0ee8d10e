"""Synthetic stores: a plain record encoder, a log builder, hypothesis strategies and a fast store writer.

Nothing here imports the reader: its constants are typed again, so that writer and reader check each other.
"""
