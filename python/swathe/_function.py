"""The fingerprint of a function: what its results depend on, the same in every process.

A resumed run compares it, so that results of another function are not taken for its own. What
cannot be compared is no match: then the run cannot be resumed.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import os
import site
import sys
import sysconfig
import types
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._probe import on_host

__all__ = ["Function", "fingerprint_of", "text_of"]


@dataclass(frozen=True)
class Function:
    """The fingerprint of a function."""

    parts: dict[str, str]
    """What results depend on, by name: a short value as it is, anything else as a hash."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Why a part cannot be compared."""

    def warnings(self, consequence: str) -> list[str]:
        """What to tell of the parts that cannot be compared."""
        return [f"{consequence}: {name} {why}" for name, why in self.unknown.items()]


def fingerprint_of(solve: Any) -> Function:
    """Its code with constants, closure, defaults, the global variables that it reads, the arguments
    of a partial, and the attributes of an object."""
    name = getattr(solve, "__qualname__", type(solve).__qualname__)
    made = Function({"solve": f"{getattr(solve, '__module__', None)}.{name}"})
    made.parts["python"] = ".".join(map(str, sys.version_info[:2]))
    for part, value in _named_parts(solve):
        try:
            # Texts are hashed: a key to some service does not belong into a file.
            is_text = isinstance(value, (str, bytes))
            made.parts[part] = _Digests().of(value).hex() if is_text else text_of(value)
        except _Unknown as why:
            # No other call has this text.
            made.parts[part] = f"{why} ({uuid.uuid4().hex})"
            made.unknown[part] = str(why)
    return made


def text_of(value: Any) -> str:
    """A value as text that is the same in every process: as it is where it is short, else its hash."""
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        text = repr(value)
        if len(text) <= 40:
            return text
    try:
        return _Digests().of(value).hex()
    except RecursionError:
        raise _Unknown("is nested too deeply to be compared") from None


class _Unknown(TypeError):
    """A value that cannot be compared with one of another process."""


def _named_parts(solve: Any) -> list[tuple[str, Any]]:
    """The parts of a callable that an error can name."""
    if isinstance(solve, functools.partial):
        given = [*enumerate(solve.args), *solve.keywords.items()]
        return [(f"argument {key}", value) for key, value in given] + _named_parts(solve.func)
    if isinstance(solve, types.MethodType):
        return [("self", solve.__self__), *_named_parts(solve.__func__)]
    if not isinstance(solve, types.FunctionType):
        return [("object", solve)]
    parts: list[tuple[str, Any]] = [("code", solve.__code__)]
    parts += [(f"closure {name}", _content(cell)) for name, cell in _closure(solve)]
    parts += [(f"default {name}", value) for name, value in _defaults(solve)]
    parts += [(f"global {name}", value) for name, value in _globals(solve)]
    return parts + [(f"attribute {name}", value) for name, value in _attributes(solve)]


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet
        return cell


def _closure(function: types.FunctionType) -> list[tuple[str, Any]]:
    return list(zip(function.__code__.co_freevars, function.__closure__ or ()))


def _defaults(function: types.FunctionType) -> list[tuple[str, Any]]:
    values = function.__defaults__ or ()
    code = function.__code__
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(values) :]
    return [*zip(names, values), *sorted((function.__kwdefaults__ or {}).items())]


def _globals(function: types.FunctionType) -> list[tuple[str, Any]]:
    """The global variables that a function reads, and the functions inside of it. Code of an
    installed package is known by the package's version."""
    if _is_installed(function.__code__.co_filename):
        return []
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(step.argval)
    known = function.__globals__
    return [(name, known[name]) for name in sorted(names) if name in known]


def _attributes(function: types.FunctionType) -> list[tuple[str, Any]]:
    # What a decorator wraps is in its closure too.
    return sorted((name, v) for name, v in vars(function).items() if name != "__wrapped__")


class _Digests:
    """Hashes of values by their contents: no addresses, and sets in the order of their hashes."""

    def __init__(self) -> None:
        self.done: dict[int, bytes] = {}
        self.open: dict[int, int] = {}
        # An address names a value only while the value is there.
        self.kept: list[Any] = []

    def of(self, value: Any) -> bytes:
        key = id(value)
        if key in self.done:
            return self.done[key]
        if key in self.open:
            return b"%d levels up" % (len(self.open) - self.open[key])
        self.open[key] = len(self.open)
        self.kept.append(value)
        try:
            kind, parts = self._parts(value)
        finally:
            del self.open[key]
        hasher = hashlib.blake2b(kind.encode(), digest_size=16)
        for part in parts:
            hasher.update(len(part).to_bytes(8, "little"))
            hasher.update(part)
        self.done[key] = hasher.digest()
        return self.done[key]

    def all(self, values: Any) -> list[bytes]:
        return [self.of(value) for value in values]

    def named(self, pairs: Any) -> list[bytes]:
        return [digest for name, value in pairs for digest in (name.encode(), self.of(value))]

    def _parts(self, value: Any) -> tuple[str, list[Any]]:
        kind = type(value)
        if kind in (bool, int, float, complex, str, bytes, type(None), type(...), range, slice):
            return kind.__name__, [repr(value).encode("utf-8", "surrogatepass")]
        if kind in (list, tuple):
            return kind.__name__, self.all(value)
        if kind in (set, frozenset):
            return kind.__name__, sorted(self.all(value))
        if isinstance(value, (dict, types.MappingProxyType)) and kind in (dict, types.MappingProxyType):
            return "dict", [part for pair in value.items() for part in self.all(pair)]
        if isinstance(value, types.CellType):
            content = _content(value)
            return "cell", [] if content is value else [self.of(content)]
        if isinstance(value, types.CodeType):
            return "code", self._code(value)
        if isinstance(value, types.ModuleType):
            return "module", [_module_text(value).encode()]
        if isinstance(value, np.dtype):
            return "dtype", [repr(value).encode()]
        if _is_plain_array(value):
            array = on_host(value)
            if not array.dtype.hasobject:
                # A view, because an array may be large.
                flat = np.ascontiguousarray(array).reshape(-1)
                elements = flat.view(np.uint8).data if array.nbytes else b""
                kind_text = f"array {kind.__qualname__} {array.dtype!r} {array.shape}"
                return kind_text, [elements]
        return self._object(value)

    def _object(self, value: Any) -> tuple[str, list[bytes]]:
        name = _installed_name(value)
        if name is not None:
            return "installed", [name.encode()]
        if isinstance(value, types.FunctionType):
            parts = [_closure, _defaults, _globals, _attributes]
            named = [pair for part in parts for pair in part(value)]
            return "function", [self.of(value.__code__), *self.named(named)]
        if isinstance(value, types.MethodType):
            return "method", self.all((value.__self__, value.__func__))
        if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
            return "built-in method", [value.__name__.encode(), self.of(value.__self__)]
        if isinstance(value, (staticmethod, classmethod)):
            return type(value).__name__, [self.of(value.__func__)]
        if isinstance(value, property):
            return "property", self.all((value.fget, value.fset, value.fdel))
        if isinstance(value, functools.cached_property):
            return "cached property", [self.of(value.func)]
        if isinstance(value, type):
            return "class", self._class(value)
        if _is_from_package(type(value)):
            # The wrappers of JAX and of functools name their function so, those of Numba otherwise.
            wrapped = getattr(value, "__wrapped__", getattr(value, "py_func", None))
            if callable(wrapped):
                return "wrapper", self.all((type(value), wrapped))
        return "object", self._reduced(value)

    def _code(self, code: types.CodeType) -> list[bytes]:
        numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        handlers = getattr(code, "co_exceptiontable", b"")
        return [code.co_code, handlers, *self.all((numbers, names, code.co_consts))]

    def _class(self, value: type) -> list[bytes]:
        methods = (types.FunctionType, staticmethod, classmethod, property)
        slots = (types.MemberDescriptorType, types.GetSetDescriptorType)
        own = [
            (name, one)
            for name, one in sorted(vars(value).items())
            # Python writes the other names with two underscores, such as the number of the line.
            if isinstance(one, methods)
            or not (isinstance(one, slots) or name.startswith("__") or name == "_abc_impl")
        ]
        return [value.__qualname__.encode(), *self.all(value.__bases__), *self.named(own)]

    def _reduced(self, value: Any) -> list[bytes]:
        """An object by what pickle would make it of again, and its class by its code."""
        registered = copyreg.dispatch_table.get(type(value))
        try:
            made = value.__reduce_ex__(4) if registered is None else registered(value)
        except Exception:
            made = None
        # Text would be the name of something whose contents are not known.
        if not isinstance(made, tuple):
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise _Unknown(f"is or holds a {kind}, which cannot be compared")
        function, arguments, state, *iterators = (*made, None, None, None, None)[:5]
        listed = [list(one) if one is not None else None for one in iterators]
        return self.all((type(value), function, arguments, state, *listed))


def _is_plain_array(value: Any) -> bool:
    """Whether an array's elements are all that there is to it."""
    if isinstance(value, np.ma.MaskedArray) or not _is_from_package(type(value)):
        return False
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    return hasattr(value, "__array__") and hasattr(value, "dtype") and hasattr(value, "shape")


def _is_from_package(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is not None and _is_installed_module(module)


def _installed_name(value: Any) -> str | None:
    """The name and version of a function or class of an installed package."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, np.ufunc):
        return _ufunc_name(value)
    if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType):
        module = value.__self__.__name__
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    found: Any = sys.modules.get(module)
    if found is None or not _is_installed_module(found):
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}.{name} {_version(module)}" if found is value else None


def _ufunc_name(ufunc: np.ufunc) -> str | None:
    """A ufunc has no module; that of an installed package is a variable of one."""
    name = ufunc.__name__
    modules = [module for module in [*sys.modules.values()] if vars(module).get(name) is ufunc]
    is_known = any(_is_installed_module(module) for module in modules)
    return f"ufunc {name} {np.__version__}" if is_known else None


def _module_text(module: types.ModuleType) -> str:
    """An installed module by its version, one's own by its contents."""
    if _is_installed_module(module):
        return f"{module.__name__} {_version(module.__name__)}"
    try:
        with open(str(getattr(module, "__file__", None)), "rb") as file:
            return f"{module.__name__} {hashlib.blake2b(file.read(), digest_size=16).hexdigest()}"
    except OSError:
        raise _Unknown(f"is the module {module.__name__}, which cannot be read") from None


def _version(module: str) -> str:
    top = sys.modules.get(module.partition(".")[0])
    return str(getattr(top, "__version__", ""))


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*getattr(site, "getsitepackages", list)(), site.getusersitepackages()]
    return tuple({os.path.realpath(path) + os.sep for path in paths})


def _is_installed_module(module: types.ModuleType) -> bool:
    """Whether a module is Python's own or an installed package's."""
    path = getattr(module, "__file__", None)
    return module.__name__ in sys.builtin_module_names if path is None else _is_installed(path)


def _is_installed(path: str) -> bool:
    """Whether code is from Python itself or from an installed package."""
    return path.startswith("<frozen") or os.path.realpath(path).startswith(_installed_folders())
