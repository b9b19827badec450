"""Docker's published ports obey a policy: real dockerd in lab hosts, and packets."""
