"""What verifies a change, on real daemons: a certificate for the name, a port, a restart; and what is told of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.config.config_host import ConfigHost
from tests.integration.config.daemons import HAPROXY, TOY_DAEMON, TOY_PORT, Options, file, toy_files
from tests.integration.config.stage import every_release

NAME, OTHER_NAME = "edge.example", "other.example"
TLS_PORT, PLAIN_PORT = 8443, 8444
KEYS = "/srv/elsewhere"
AUTHORITY = f"{KEYS}/authority.pem"
_MAKE_KEYS = f"""\
cd {KEYS}
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -addext keyUsage=critical,keyCertSign \
    -keyout authority.key -out authority.pem
for name in {NAME} {OTHER_NAME}; do
    openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
    printf 'subjectAltName=DNS:%s\\nauthorityKeyIdentifier=keyid\\n' $name > $name.ext
    openssl x509 -req -in $name.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 \\
        -extfile $name.ext -out $name.crt
    cat $name.crt $name.key > $name.pem
done
"""


def serving(edge: ConfigHost, name: str, port: int = TLS_PORT) -> Options:
    """HAProxy with the certificate of a name, verified as that of NAME."""
    text = f"""\
# {name}
global
    user haproxy
    group haproxy
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend site
    bind :{port} ssl crt /etc/haproxy/site.pem
    bind :{PLAIN_PORT}
    http-request return status 200 content-type text/plain string "{name}"
"""
    tls = {"host": "127.0.0.1", "port": TLS_PORT, "server_name": NAME, "ca_file": AUTHORITY}
    return {
        "name": "haproxy",
        "files": [
            file("/etc/haproxy/haproxy.cfg", text),
            file("/etc/haproxy/site.pem", edge.says(f"{KEYS}/{name}.pem"), mode="0640", no_log=True),
        ],
        "validate": list(HAPROXY.validate),
        "reload": HAPROXY.reload,
        "verify": [{"tcp": {"host": "127.0.0.1", "port": PLAIN_PORT}}, {"tls": tls}],
        "verify_timeout": 4,
        "wait_timeout": 30,
    }


@pytest.mark.proof(area="config", line=1, title="A certificate that is not for the name and a closed port are noticed")
@every_release
def test_a_certificate_has_to_be_for_the_name_and_a_port_open(edge: ConfigHost) -> None:
    edge.sh(_MAKE_KEYS)
    edge.done(**serving(edge, NAME))
    edge.at_rest(**serving(edge, NAME))
    good = edge.content("/etc/haproxy")
    wrong = edge.refused(**serving(edge, OTHER_NAME))
    assert wrong.values["rolled_back"] is True
    assert NAME in wrong.values["output"]
    moved = edge.refused(**serving(edge, NAME, TLS_PORT + 10))
    assert moved.values["rolled_back"] is True
    assert str(TLS_PORT) in moved.values["output"]
    assert edge.content("/etc/haproxy") == good
    told = ["openssl", "s_client", "-connect", f"127.0.0.1:{TLS_PORT}", "-servername", NAME]
    assert f"CN = {NAME}" in edge.run(*told, check=False).replace("CN=", "CN = ")


@pytest.mark.proof(area="config", line=1, title="A daemon is restarted only when asked, and then also on the way back")
@every_release
def test_a_restart_is_one_also_when_the_set_does_not_stand(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    first = edge.processes(TOY_DAEMON.unit)
    restart = {"reload": {"unit": TOY_DAEMON.unit, "restart": True}}
    edge.done(**TOY_DAEMON.set("new", **restart))
    second = edge.processes(TOY_DAEMON.unit)
    assert not set(first) & set(second)
    # A port that nobody asks at is what a reload would not change, and a restart does.
    elsewhere = toy_files("old", f"port {TOY_PORT + 1}")
    failed = edge.refused(**{**TOY_DAEMON.set("old", **restart), "files": elsewhere})
    assert failed.values["rolled_back"] is True
    assert edge.serves(TOY_DAEMON) == "new"
    assert not set(second) & set(edge.processes(TOY_DAEMON.unit))


@pytest.mark.proof(area="config", line=5, title="What is kept, what runs and what somebody changed is told")
@every_release
def test_the_info_module_tells_what_is_kept_and_what_drifted(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    edge.done(**TOY_DAEMON.set("new"))
    edge.run("sed", "-i", "$a # by hand", "/etc/toy/toy.conf")
    before = edge.tree("/etc/toy", "/var/lib/baremetal.fabric")
    values: dict[str, Any] = dict(edge.module("guarded_config_info", {"name": "toy"}).values)
    [told] = values["sets"]
    assert edge.started == []
    assert edge.tree("/etc/toy", "/var/lib/baremetal.fabric") == before
    assert (told["generation"], told["drift"]) == (max(told["kept"]), ["/etc/toy/toy.conf"])
    assert told["verified"]
    assert told["unfinished"] is None
    newest = told["generations"][0]
    assert newest["current"]
    assert newest["previous"] == told["previous"]
    assert "by hand" not in json.dumps(values)
    assert edge.module("guarded_config_info", {"name": "nothing"}).failed
