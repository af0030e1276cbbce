"""Where features cross: the same query by many ways in and out, behind changes, and with every threshold moved."""
