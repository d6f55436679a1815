"""What timesurf raises. One base class, and each is also the built-in error that a caller would expect."""


class TimesurfError(Exception):
    """Base of all errors that timesurf raises on purpose."""


class EventError(TimesurfError, ValueError):
    """Events or labels that no network can take: the message names the recording and the event."""


class SettingError(TimesurfError, ValueError):
    """A parameter outside its range, or a network that does not fit its data."""


class ModelFileError(TimesurfError, ValueError):
    """A model file that is damaged, of another version, or not ours."""


class NotFittedError(TimesurfError, ValueError, AttributeError):
    """A network was asked to run before it had centroids."""


class MissingEngineError(TimesurfError, ImportError):
    """An engine that this machine lacks: the message says what to install."""


class DivergedError(SettingError):
    """Learning has gone where no further learning leads back from."""
