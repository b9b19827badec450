"""Docker 29 with its own nftables backend, as its documentation shows the rules.

dockerd 29 itself is not run: no release packages it. Its rules for a network with a published port are loaded from a
file that has the same tables, chains, hooks and priorities (moby,
integration/network/bridge/nftablesdoc/generated/usernet-portmap.md), and a network namespace plays the container.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.firewall.clients import Target, order
from tests.integration.firewall.declared import declare, policy
from tests.integration.firewall.docker_host import DockerHost
from tests.integration.firewall.engines import on, settings
from tests.integration.firewall.places import ADDRESSES, DOCK, SERVER
from tests.integration.firewall.stage import Stage
from tests.integration.modules.payload import FOLDER

INSIDE = {4: "172.29.0.2", 6: "2001:db8:29::2"}
BRIDGE = "docker0"


def rules(family: str, inside: str, network: str, direct: str) -> str:
    """The table of one family. ``direct`` is the rule of raw-PREROUTING, which some gateway modes leave out."""
    address = f"[{inside}]" if ":" in inside else inside
    word = "ip6" if family == "ip6" else "ip"
    loopback = "::1" if family == "ip6" else "127.0.0.0/8"
    return f"""
table {family} docker-bridges {{
  map filter-forward-in-jumps {{
    type ifname : verdict; elements = {{ "{BRIDGE}" : jump filter-forward-in__{BRIDGE} }}
  }}
  map filter-forward-out-jumps {{
    type ifname : verdict; elements = {{ "{BRIDGE}" : jump filter-forward-out__{BRIDGE} }}
  }}
  map nat-postrouting-out-jumps {{
    type ifname : verdict; elements = {{ "{BRIDGE}" : jump nat-postrouting-out__{BRIDGE} }}
  }}
  chain filter-FORWARD {{
    type filter hook forward priority filter; policy accept;
    oifname vmap @filter-forward-in-jumps
    iifname vmap @filter-forward-out-jumps
  }}
  chain nat-OUTPUT {{
    type nat hook output priority dstnat; policy accept;
    {word} daddr != {loopback} fib daddr type local counter jump nat-prerouting-and-output
  }}
  chain nat-POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    iifname vmap @nat-postrouting-out-jumps
  }}
  chain nat-PREROUTING {{
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local counter jump nat-prerouting-and-output
  }}
  chain nat-prerouting-and-output {{ iifname != "{BRIDGE}" tcp dport {{ 8443, 8500 }} counter dnat to {address}:443; }}
  chain raw-PREROUTING {{ type filter hook prerouting priority raw; policy accept; {direct} }}
  chain filter-forward-in__{BRIDGE} {{
    ct state established,related counter accept
    iifname "{BRIDGE}" counter accept
    {word} daddr {inside} tcp dport 443 counter accept
    counter drop
  }}
  chain filter-forward-out__{BRIDGE} {{ ct state established,related counter accept; counter accept; }}
  chain nat-postrouting-out__{BRIDGE} {{ oifname != "{BRIDGE}" {word} saddr {network} counter masquerade; }}
}}
"""


@contextmanager
def container(dock: DockerHost) -> Iterator[None]:
    """A network namespace behind the bridge, in which somebody answers."""
    dock.stop_docker()
    dock.sh(f"""
        nft flush ruleset
        sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
        ip link add {BRIDGE} type bridge 2>/dev/null || true
        ip address flush dev {BRIDGE}
        ip address add 172.29.0.1/24 dev {BRIDGE}
        ip address add 2001:db8:29::1/64 dev {BRIDGE} nodad
        ip link set {BRIDGE} up
        ip netns add inside
        ip link add veth29 type veth peer name eth0 netns inside
        ip link set veth29 master {BRIDGE} up
        ip -n inside link set lo up
        ip -n inside link set eth0 up
        ip -n inside address add {INSIDE[4]}/24 dev eth0
        ip -n inside address add {INSIDE[6]}/64 dev eth0 nodad
        ip -n inside route add default via 172.29.0.1
        ip -n inside route add default via 2001:db8:29::1
        systemd-run --quiet --unit=inside --collect \\
            ip netns exec inside python3 {FOLDER}/on_host/answerer.py web tcp:443
    """)
    dock.until(("sh", "-c", "ip netns exec inside ss -ltn | grep -q ':443 '"), 10)
    for address in INSIDE.values():  # a new bridge takes its time with multicast, and so with IPv6's neighbours
        dock.until(("ping", "-c", "1", "-W", "1", address), 30)
    yield
    dock.run("systemctl", "stop", "inside.service")


@pytest.mark.proof(area="firewall", line=7, title="Docker 29's documented nftables rules (dockerd 29 was not run)")
@pytest.mark.parametrize("protected", [True, False], ids=["nat", "nat-unprotected"])
@on(settings("26.1", proxy=False))
def test_the_policy_holds_in_front_of_the_nftables_backend(stage: Stage, protected: bool) -> None:
    dock = stage.dock
    families = {4: ("ip", "172.29.0.0/24"), 6: ("ip6", "2001:db8:29::/64")}
    with container(dock):
        for family, (name, network) in families.items():
            direct = f'{name} daddr {INSIDE[family]} iifname != "{BRIDGE}" counter drop;' if protected else ""
            dock.load(rules(name, INSIDE[family], network, direct))
        for family in (4, 6):
            assert stage.denied.can(DOCK, 8443, family=family)
            assert stage.denied.can(INSIDE[family], 443) is not protected
        others = dock.rules_of_others()
        declare(dock, [policy("web", 8443)], default="drop")
        assert dock.rules_of_others() == others
        for family in (4, 6):
            assert not stage.denied.can(DOCK, 8443, family=family)
            assert stage.allowed.can(DOCK, 8443, family=family)
            assert not stage.allowed.can(DOCK, 8500, family=family)
            assert not stage.denied.can(INSIDE[family], 443)
            own = Target(ADDRESSES[DOCK][family], 8443)
            assert dock.ask_from_host([own]) != [None]
            with stage.server.answering(SERVER, "tcp:8443"):
                probe = ("ip", "netns", "exec", "inside", "python3", f"{FOLDER}/on_host/probe.py")
                asked = dock.run(*probe, stdin=order([Target(ADDRESSES[SERVER][4], 8443)]))
                assert SERVER in asked
