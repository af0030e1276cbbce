"""What some two thousand queries are planned to, the ways that they are run, and what they give: see ``README.md``."""
