"""How far estimates are off where patterns have conditions on properties: patterns from seeds, with their counts."""
