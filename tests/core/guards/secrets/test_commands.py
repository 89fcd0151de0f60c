"""Secrets that programs are given on their command line or their input, and command lines that only look like it."""

import hashlib

import pytest
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_text
from toolcharter.guards.secrets.stream import Stream

HEX = hashlib.sha256(b"commands").hexdigest()
MIXED = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))
LETTERS, SIGNS = "sword" + "fish", "hunt" + "er2!x"


def streamed(text: str) -> str:
    """*text* in pieces of seven bytes through a stream."""
    stream, data = Stream(), text.encode()
    pieces = [stream.feed(data[at : at + 7]) for at in range(0, len(data), 7)]
    return (b"".join(pieces) + stream.finish()).decode()


@each_row(
    "text",
    [
        "http -a ann:{} POST h/x a=1",
        "etcdctl --user root:{} get /x",
        "twine upload -u ann -p {} dist/*",
        "cqlsh h -u ann -p {}",
        "nxc smb 10.0.0.5 -u ann -p '{}' --shares",
        "evil-winrm -i h -u ann -p '{}'",
        "ssh-keygen -t ed25519 -N '{}' -f k",
        "ssh-keygen -p -P {} -f k",
        "openssl enc -aes-256-cbc -k {} -in a",
        "security add-generic-password -a ann -s svc -w '{}'",
        'gh secret set DEPLOY --body "{}"',
        "az keyvault secret set --vault-name v --name n --value '{}'",
        "aws ssm put-parameter --name /a --type SecureString --value {}",
        "aws secretsmanager create-secret --name a --secret-string '{}'",
        "poetry config http-basic.corp ann {}",
        "mc alias set s3 https://s3.example.com ann {}",
        "vault operator unseal {}",
        "ngrok config add-authtoken {}",
        "pulumi config set --secret db {}",
        "chamber write svc db {}",
        "ansible-vault encrypt_string '{}' --name db",
        "wpa_passphrase home {}",
        "rootpw --plaintext {}",
        "echo '{}' | kinit ann@CORP",
        "echo {} | wrangler secret put API",
        "printf '{}' | gcloud secrets versions add db --data-file=-",
        "impacket-secretsdump CORP/ann:{}@10.0.0.1",
        "python3 wmiexec.py 'corp.local/ann:{}@dc1'",
    ],
)
@each_row("value", [LETTERS, SIGNS, MIXED[:20]])
def test_secret_of_a_command_is_masked(text: str, value: str) -> None:
    """Behind the option or word that the program takes it with, whatever it is made of."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)
    assert streamed(text.format(value)) == text.format(MASK)


@each_row(
    "text",
    [
        r"net use Z: \\nas\share {} /user:ann",
        "net user bob {} /add",
        "schtasks /create /tn t /ru ann /rp {} /tr x",
    ],
)
@each_row("value", [SIGNS, MIXED[:20]])
def test_password_of_a_windows_command_is_masked(text: str, value: str) -> None:
    """Any word may stand there in a sentence: `net user growth rates`."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "net user growth rates in Q3; net use of energy2; net user bob /delete",
        "ssh-keygen -t ed25519 -N '' -C ann; ssh-keygen -R '[h]:2222'; ssh-keygen -l -f key.pub",
        "openssl enc -aes-256-cbc -kfile pw.txt -in a; openssl s_client -connect h:443",
        'gh secret set TOKEN --body "$TOKEN"; gh secret list',
        "aws ssm put-parameter --name a --type SecureString --value $V; aws secretsmanager create-secret --secret-string file://s.json",
        "vault operator unseal <key>; vault operator init -key-shares=5",
        "poetry config virtualenvs.in-project true; mc alias ls; ngrok http 8080; snyk test; cf auth $U $P",
        "hydra -L users.txt -P words.txt ssh://h; nxc smb h -u users.txt -p passwords.txt; cqlsh -p",
        "kinit ann@CORP; echo $PW | kinit ann; wrangler secret list; cat key | cryptsetup luksOpen /dev/sda1 x -",
        "test.py tests/a.py::test_b@x; build.py image/name:1.2.3@sha256:abcdef",
        "security find-generic-password -w -s svc; rootpw --lock; wpa_passphrase home < pw.txt",
    ],
)
def test_other_commands_stay(text: str) -> None:
    """Variables, files, places to fill in, other options of the same programs."""
    assert scrub_text(text) == (text, 0)


@pytest.mark.parametrize("name", ["x-access-token", "x-token-auth"])
def test_host_behind_the_token_of_an_address_stays(name: str) -> None:
    """The user's name in front of it is a telling key; what it is for goes on behind the `@`."""
    address = f"git clone https://{name}:{{}}@git.example.com/a/b.git"

    assert scrub_text(address.format(MIXED[:40])) == (address.format(MASK), 1)
