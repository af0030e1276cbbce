"""The same query through many doors: its rows are the same whichever way it goes in and its rows come out."""
