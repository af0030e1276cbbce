"""The only place where logical operators become physical ones: one file an operator."""
