"""A table written by hand, as the module's is to be: what holds with it is what nftables can do, whoever writes it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.integration.firewall.matrix import NAMED, UNNAMED
from tests.integration.firewall.places import ADDRESSES, ALLOWED

# nft 1.0.6 knows the type of ``ct original proto-dst`` only after a match on the protocol in the same rule.
_TRANSPORT = "meta l4proto { tcp, udp }"
_PORT = "meta l4proto . ct original proto-dst"

_TEXT = """\
table inet docker_firewall {
    comment "written by hand"

    set docker {
        type ifname
        elements = { @BRIDGES@ }
    }

    set foreign {
        type ifname
    }

    set proxied {
        type inet_proto . inet_service
        flags interval
        elements = { @PROXIED@ }
    }

    set web_4 {
        type ipv4_addr
        flags interval
        auto-merge
        elements = { @ALLOWED_4@ }
    }

    set web_6 {
        type ipv6_addr
        flags interval
        auto-merge
        elements = { @ALLOWED_6@ }
    }

    map ports {
        type inet_proto . inet_service : verdict
        flags interval
        elements = { @PORTS@ }
    }

    map ports_4 {
        type ipv4_addr . inet_proto . inet_service : verdict
        flags interval
    }

    map ports_6 {
        type ipv6_addr . inet_proto . inet_service : verdict
        flags interval
    }

    chain policy_web {
        ip saddr @web_4 return comment "allowed"
        ip6 saddr @web_6 return
        limit rate 5/second burst 10 packets log prefix "docker_firewall web: "
        drop
    }

    chain forward {
        type filter hook forward priority filter - 1; policy accept;
        iifname @docker return
        @REPLIES@
        oifname @docker goto into_docker
        meta oifkind "bridge" oifname != @foreign ct status dnat goto into_docker
    }

    chain into_docker {
        ct status dnat goto published
        ct state new drop comment "straight to a container"
    }

    chain published {
        @LOOKUP@
        @DEFAULT@
    }

    chain input {
        type filter hook input priority filter - 1; policy accept;
        iifname "lo" return
        iifname @docker return
        @REPLIES@
        @LOOKUP@
        @TRANSPORT@ @PORT@ @proxied drop
    }
}
"""
_REPLIES = ("ct direction reply return", "ct state related return", "ct state established return")
_LOOKUP = (
    f"{_TRANSPORT} ct original ip daddr . {_PORT} vmap @ports_4",
    f"{_TRANSPORT} ct original ip6 daddr . {_PORT} vmap @ports_6",
    f"{_TRANSPORT} {_PORT} vmap @ports",
)


def table(bridges: Sequence[str], default: str = "return", policy: bool = True) -> str:
    """The text for ``nft -f``: named ports are for the client ``allowed``; nobody goes straight to a container.

    Args:
        bridges: Docker's interfaces.
        default: ``drop`` or ``return``, for published ports that are not named.
        policy: without one the table is there and lets everything pass that is published.
    """
    named = [f"{protocol} . {port}" for protocol, port in NAMED.items()] if policy else []
    proxied = [*named, f"tcp . {UNNAMED}"] if default == "drop" else named
    replaced = {
        "@BRIDGES@": ", ".join(f'"{bridge}"' for bridge in bridges),
        "@PROXIED@": ", ".join(proxied),
        "@ALLOWED_4@": ADDRESSES[ALLOWED][4],
        "@ALLOWED_6@": ADDRESSES[ALLOWED][6],
        "@PORTS@": ", ".join(f"{port} : goto policy_web" for port in named),
        "@REPLIES@": "\n        ".join(_REPLIES),
        "@LOOKUP@": "\n        ".join(_LOOKUP),
        "@DEFAULT@": default,
        "@TRANSPORT@": _TRANSPORT,
        "@PORT@": _PORT,
    }
    text = _TEXT
    for mark, value in replaced.items():
        text = text.replace(mark, value)
    # In one transaction, whether the table is there or not.
    return f"add table inet docker_firewall\ndelete table inet docker_firewall\n{text}"
