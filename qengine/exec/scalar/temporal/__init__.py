"""What the language does with dates, times and durations: functions, fields, arithmetic."""
