"""The errors of timesurf: one base class, and each is also the built-in error that a caller would expect."""


class TimesurfError(Exception):
    """Base of all errors that timesurf raises on purpose."""


class EventError(TimesurfError, ValueError):
    """Events or labels that are not valid: the message names the recording and the event."""


class SettingError(TimesurfError, ValueError):
    """A parameter outside its range, or a network that does not fit its data."""


class ModelFileError(TimesurfError, ValueError):
    """A model file that is damaged, of a newer version, or not one of timesurf."""


class FolderInUseError(TimesurfError, BlockingIOError):
    """A folder that another training writes to: the message names it."""


class NotFittedError(TimesurfError, ValueError, AttributeError):
    """A network was used before it had centroids."""


class MissingEngineError(TimesurfError, ImportError):
    """An engine or a package that this machine lacks: the message says what to install."""


class DivergedError(SettingError):
    """Training diverged and cannot recover."""
