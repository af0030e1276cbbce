"""The columns of SHOW, in their order."""

from __future__ import annotations

_COLUMNS: dict[str, tuple[str, str]] = {
    "INDEXES": (
        "id name state populationPercent type entityType labelsOrTypes properties indexProvider owningConstraint "
        "lastRead readCount",
        "trackedSince options failureMessage createStatement",
    ),
    "CONSTRAINTS": (
        "id name type entityType labelsOrTypes properties ownedIndex propertyType",
        "options createStatement",
    ),
    "FUNCTIONS": ("name category description", "signature isBuiltIn aggregating"),
    "PROCEDURES": ("name description mode worksOnSystem", "signature admin"),
    "SETTINGS": (
        "name value isDynamic defaultValue description",
        "startupValue isExplicitlySet validValues isDeprecated",
    ),
    "TRANSACTIONS": (
        "database transactionId currentQueryId connectionId clientAddress username currentQuery startTime status "
        "elapsedTime",
        "parameters allocatedBytes",
    ),
    "TERMINATED": ("transactionId username message", ""),
    "DATABASES": (
        "name type aliases access address role writer requestedStatus currentStatus statusMessage default home "
        "constituents",
        "databaseID serverID store lastCommittedTxn replicationLag creationTime lastStartTime lastStopTime",
    ),
    "SERVERS": ("name address state health hosting", ""),
    "USERS": ("user roles passwordChangeRequired suspended home", ""),
    "ROLES": ("role", "member immutable"),
    "PRIVILEGES": ("access action resource graph segment role immutable", "user command"),
    "ALIASES": ("name composite database location url user", "driver properties"),
}


def shown_columns(what: str, *, whole: bool) -> tuple[str, ...]:
    """Return the columns of what SHOW lists: those shown where nothing is said, or also those that YIELD may name."""
    shown, others = _COLUMNS[what]
    return tuple(shown.split() + (others.split() if whole else []))
