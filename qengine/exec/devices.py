"""Which device a query asks for, by its name: "auto", "cpu", "gpu", or GPUs by their numbers, as "gpu:0,1"."""

from __future__ import annotations

from qengine.errors import DeviceError

DEVICES = ("auto", "cpu", "gpu")
"""The names without numbers."""

_GPU = "gpu:"


def asked_device(name: str, names: tuple[str, ...] = DEVICES) -> tuple[str, tuple[int, ...]]:
    """Return which of the plain names a device's name stands for, and the numbers of the GPUs that it chooses.

    Parameters
    ----------
    name
        "gpu:" and numbers, as CUDA counts the devices that it shows to the process, or one of ``names``.

    Returns
    -------
    tuple
        Without numbers: all GPUs that can be used. Whether there are such isn't looked at here.

    Raises
    ------
    DeviceError
        For any other name.
    """
    if name in names:
        return name, ()
    if isinstance(name, str) and name.startswith(_GPU):
        parts = [part.strip() for part in name.removeprefix(_GPU).split(",")]
        if all(part.isascii() and part.isdigit() for part in parts):
            return "gpu", tuple(dict.fromkeys(map(int, parts)))
        from qengine.exec.gpu.device import found_devices

        raise DeviceError(
            f'There is no device {name!r}: numbers must follow "gpu:", with commas between them.', hint=found_devices()
        )
    hint = "Use one of: " + ", ".join(map(repr, names)) + ", 'gpu:0', 'gpu:0,1'."
    raise DeviceError(f"There is no device {name!r}.", hint=hint)


def devices_in_words(numbers: tuple[int, ...]) -> str:
    """Return how messages name some GPUs."""
    if len(numbers) == 1:
        return f"GPU {numbers[0]}"
    *first, last = map(str, numbers)
    return f"GPUs {', '.join(first)} and {last}"
