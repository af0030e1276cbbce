"""How far estimates are off where patterns have conditions on properties: patterns drawn from seeds, and their counts."""
