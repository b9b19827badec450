"""The daemons, each with the sets that tests put in place: an old and a new one, and what goes wrong.

The new set of each has another main file than the old one, has no longer one of its files, and has one in a directory
that the old one does not need. What a daemon serves tells which of the two it obeys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.integration.config.places import CONTROLLERS, LOOPBACK, OUTSIDE, ROUTER_AT_EDGE
from tests.integration.modules.payload import FOLDER

Options = dict[str, Any]

#: A program of the host that looks.
LOOK = ("python3", f"{FOLDER}/on_host/look.py")
TOY = ("python3", f"{FOLDER}/on_host/toy.py")
#: The port at which HAProxy serves, and those of nginx and the toy behind it.
SITE_PORT = 80
NGINX_PORT = 8080
TOY_PORT = 8001


def file(path: str, content: str, **more: Any) -> Options:
    """A file as it is declared."""
    return {"path": path, "content": content, **more}


@dataclass(frozen=True)
class Daemon:
    """One daemon, and how its sets are guarded."""

    name: str
    files: Callable[[str], list[Options]]
    validate: tuple[str, ...]
    reload: Options
    verify: Callable[[str], list[Options]]
    #: Prints ``old`` or ``new``, as the daemon serves.
    look: tuple[str, ...]
    #: Where its files are.
    folders: tuple[str, ...]
    #: Seconds until a change must have failed, or stood; the fewest that a sound change never needs.
    seconds: int = 4
    further: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """Its unit."""
        return f"{self.name}.service"

    def set(self, which: str, **options: Any) -> Options:
        """The arguments that put a set in place: ``old``, ``new``, ``invalid`` or ``failing``."""
        return {
            "name": self.name,
            "files": self.files(which),
            "validate": list(self.validate),
            "reload": self.reload,
            "verify": self.verify(which),
            "verify_timeout": self.seconds,
            "wait_timeout": 30,
            **self.further,
            **options,
        }


def _place(which: str, folder: str) -> str:
    """Where the second file of a set is: only the new set needs another directory."""
    return f"{folder}/deep/er" if which == "new" else folder


# HAProxy: /set is answered from a map, /healthcheck is what verification asks for, the rest comes from nginx.


def _haproxy_files(which: str) -> list[Options]:
    maps = f"{_place(which, '/etc/haproxy/maps')}/sets.map"
    status = 503 if which == "failing" else 200
    bind = "bnid" if which == "invalid" else "bind"
    answer = "http-request return status"
    text = f"""\
# {which}
global
    user haproxy
    group haproxy
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend site
    {bind} :{SITE_PORT}
    {answer} {status} content-type text/plain string "healthy" if {{ path /healthcheck }}
    {answer} 200 content-type text/plain lf-string "%[str(name),map({maps})]" if {{ path /set }}
    default_backend servers
backend servers
    http-reuse never
    server web 127.0.0.1:{NGINX_PORT}
"""
    return [file("/etc/haproxy/haproxy.cfg", text), file(maps, f"name {which}\n", group="haproxy", mode="0640")]


def _haproxy_verify(which: str) -> list[Options]:
    site = f"http://127.0.0.1:{SITE_PORT}"
    return [
        {"unit": "haproxy.service"},
        {"haproxy": "/run/haproxy-master.sock"},
        {"http": {"url": f"{site}/healthcheck"}},
        {"http": {"url": f"{site}/set", "contains": which}},
    ]


HAPROXY = Daemon(
    name="haproxy",
    files=_haproxy_files,
    validate=("haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg"),
    reload={"unit": "haproxy.service"},
    verify=_haproxy_verify,
    look=(*LOOK, "get", "127.0.0.1", str(SITE_PORT), "/set"),
    folders=("/etc/haproxy",),
)


# nginx: serves what HAProxy asks for.


def _nginx_files(which: str) -> list[Options]:
    snippet = f"{_place(which, '/etc/nginx/snippets')}/set.conf"
    text = f"""\
server {{
    listen 127.0.0.1:{NGINX_PORT};
    {"lacotion" if which == "invalid" else "location"} / {{ return 200 "served\\n"; }}
    include {snippet};
}}
"""
    answer = f'location = /set {{ return {404 if which == "failing" else 200} "{which}\\n"; }}\n'
    return [file("/etc/nginx/conf.d/site.conf", text), file(snippet, answer)]


NGINX = Daemon(
    name="nginx",
    files=_nginx_files,
    validate=("nginx", "-t"),
    reload={"unit": "nginx.service"},
    verify=lambda which: [
        {"unit": "nginx.service"},
        {"http": {"url": f"http://127.0.0.1:{NGINX_PORT}/set", "contains": which}},
    ],
    look=(*LOOK, "get", "127.0.0.1", str(NGINX_PORT), "/set"),
    folders=("/etc/nginx",),
)


# BIRD: a session with the router, over which the edge learns the way to the controllers and tells where it is.

_BIRD_SHOWS = "birdc show protocols | sed -n 's/^set_\\([a-z]*\\) .*/\\1/p'"
BIRD_SESSION = "router1"


def _bird_files(which: str) -> list[Options]:
    part = f"{_place(which, '/etc/bird/parts')}/set.conf"
    text = f"""\
log syslog all;
router id 192.0.2.1;
timeformat protocol iso long us;
protocol device {{}}
protocol kernel {{
    ipv4 {{ import none; export where source = RTS_BGP; }};
}}
protocol static here {{
    ipv4;
    route {LOOPBACK}/32 blackhole;
}}
protocol bgp {BIRD_SESSION} {{
    local as 65001;
    {"neihgbor" if which == "invalid" else "neighbor"} {ROUTER_AT_EDGE} as {65009 if which == "failing" else 65002};
    hold time 9;
    connect delay time 1;
    connect retry time 1;
    error wait time 1, 2;
    ipv4 {{ import all; export where proto = "here"; }};
}}
include "{part}";
"""
    owned = {"owner": "bird", "group": "bird", "mode": "0640"}
    return [
        file("/etc/bird/bird.conf", text, **owned),
        file(part, f"protocol static set_{which} {{ ipv4; }}\n", **owned),
    ]


BIRD = Daemon(
    name="bird",
    files=_bird_files,
    validate=("bird", "-p", "-c", "/etc/bird/bird.conf"),
    reload={"bird": "/run/bird/bird.ctl", "unit": "bird.service"},
    verify=lambda which: [
        {"bird": {"protocols": [BIRD_SESSION]}},
        {"command": ["sh", "-c", f"birdc show protocols | grep -q '^set_{which} '"]},
    ],
    look=("sh", "-c", _BIRD_SHOWS),
    folders=("/etc/bird",),
    seconds=12,
)

ROUTER_CONF = f"""\
log syslog all;
router id {ROUTER_AT_EDGE};
timeformat protocol iso long us;
protocol device {{}}
protocol kernel {{
    ipv4 {{ import none; export where source = RTS_BGP; }};
}}
protocol static here {{
    ipv4;
    route {CONTROLLERS} blackhole;
}}
protocol bgp edge {{
    local as 65002;
    neighbor 192.0.2.1 as 65001;
    hold time 9;
    connect delay time 1;
    connect retry time 1;
    error wait time 1, 2;
    ipv4 {{ import all; export where proto = "here"; }};
}}
"""


# Keepalived: holds an address, another one in each set.

KEPT = {"old": "198.51.100.101", "new": "198.51.100.102"}
_KEEPALIVED_SHOWS = " ".join(f"-e 's/.* {address}.*/{which}/p'" for which, address in KEPT.items())
#: Debian has had it in two places.
KEEPALIVED_PID_FILE = "/run/keepalived.pid"


def _keepalived_files(which: str) -> list[Options]:
    part = f"{_place(which, '/etc/keepalived/parts')}/addresses.conf"
    text = f"""\
global_defs {{
    router_id edge
}}
vrrp_instance site {{
    state MASTER
    interface {OUTSIDE}
    virtual_router_id 51
    priority 250
    advert_int 0.2
    version 3
    {"virtual_iqaddress {" if which == "invalid" else "include " + part}
}}
"""
    address = KEPT.get(which, "198.51.100.103")
    return [
        file("/etc/keepalived/keepalived.conf", text, mode="0640"),
        file(part, f"virtual_ipaddress {{\n    {address}/24\n}}\n", mode="0640"),
    ]


KEEPALIVED = Daemon(
    name="keepalived",
    files=_keepalived_files,
    validate=("keepalived", "--config-test", "--use-file=/etc/keepalived/keepalived.conf"),
    reload={"unit": "keepalived.service"},
    verify=lambda which: [
        {"unit": "keepalived.service"},
        {"keepalived": KEEPALIVED_PID_FILE},
        {"command": ["sh", "-c", f"ip -o addr show dev {OUTSIDE} | grep -q ' {KEPT.get(which, '192.0.2.99')}/'"]},
    ],
    look=("sh", "-c", f"ip -o addr show dev {OUTSIDE} | sed -n {_KEEPALIVED_SHOWS}"),
    folders=("/etc/keepalived",),
    seconds=8,
)


# The toy.


def toy_files(says: str, *lines: str, parts: Sequence[tuple[str, str]] = ()) -> list[Options]:
    """A configuration of the toy: it says this, and includes parts (paths with texts) by their directories."""
    folders = sorted({path.rpartition("/")[0] for path, _text in parts})
    text = [f"port {TOY_PORT}", f"says {says}", *lines, *(f"include {folder}" for folder in folders)]
    return [file("/etc/toy/toy.conf", "\n".join(text) + "\n"), *(file(path, text) for path, text in parts)]


def _toy_files(which: str) -> list[Options]:
    wrong = {"invalid": ["what is this"], "failing": ["on_reload keep"]}.get(which, [])
    part = f"{_place(which, '/etc/toy/parts')}/part.conf"
    return toy_files(which, *wrong, parts=[(part, "# a part\n")])


def toy_verify(says: str) -> list[Options]:
    """It runs, and says this."""
    return [
        {"unit": "toy.service"},
        {"http": {"url": f"http://127.0.0.1:{TOY_PORT}/", "contains": says}},
    ]


TOY_DAEMON = Daemon(
    name="toy",
    files=_toy_files,
    validate=(*TOY, "--check", "/etc/toy/toy.conf"),
    reload={"unit": "toy.service"},
    verify=toy_verify,
    look=(*LOOK, "get", "127.0.0.1", str(TOY_PORT), "/"),
    folders=("/etc/toy",),
    seconds=2,
)

DAEMONS = (HAPROXY, NGINX, BIRD, KEEPALIVED, TOY_DAEMON)
