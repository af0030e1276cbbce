"""Heavy queries of every kind, and how soon each can be stopped."""
