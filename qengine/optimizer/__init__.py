"""From a bound plan to a physical one: rewrite rules, matching orders, lowering."""
