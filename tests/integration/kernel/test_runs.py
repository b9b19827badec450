"""A module of our own: the four runs, several versions, several kernels at once, and its end."""

from __future__ import annotations

import pytest

from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.kernel.stage import every_release, newest_release_always


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=1, title="A source of our own: check, do, again, check again, on two kernels")
@newest_release_always
def test_four_runs_put_a_module_in_place_for_two_kernels(builder: KernelHost) -> None:
    result = builder.quartet(**builder.toy(Toy()))
    for kernel in builder.kernels:
        assert builder.is_in_place(kernel, "1.0")
        told = builder.kernel_of(result, kernel)
        assert (told["added"], told["built"], told["installed"], told["in_place"]) == (True, True, "1.0", True)
    assert result.values["signing"]["key"] == "/var/lib/dkms/mok.key"
    (module,) = builder.info(NAME)["modules"]
    assert {each["state"] for each in module["dkms_status"]} == {"installed"}


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=3, title="An upgrade, side by side, keeps the old version until the new is proved"
)
@every_release
def test_an_upgrade_replaces_a_version_once_the_new_one_is_proved(builder: KernelHost) -> None:
    builder.done(**builder.toy(Toy("1.0")))
    upgrade = builder.toy(Toy("2.0"), jobs=2, replace_older=True)
    result = builder.quartet(**upgrade)
    assert result.titles[-2:] == [f"Remove {NAME}/1.0 from DKMS", f"Remove /usr/src/{NAME}-1.0"]
    for kernel in builder.kernels:
        assert builder.is_in_place(kernel, "2.0")
        assert builder.modinfo(kernel, "version") == "2.0"
    assert f"{NAME}/1.0" not in builder.dkms("status")
    # Another source under the same version is built anew.
    changed = builder.toy(Toy("2.0", says="steady"), jobs=2)
    again = builder.done(**changed)
    assert again.titles[0] == f"Replace /usr/src/{NAME}-2.0"
    assert all(builder.is_in_place(kernel, "2.0") for kernel in builder.kernels)
    builder.at_rest(**changed)
    # And all of it goes.
    gone = builder.quartet(name=NAME, state="absent")
    assert gone.values["module"]["versions"] == []
    assert NAME not in builder.everything()
    assert not any(builder.path(kernel) for kernel in builder.kernels)
