"""What the comparison with the help of programs found: options that take no value hide no other option, and keys are named."""

import pytest
from tests.core.guards.shell.tables.requirements_of_lines import required_words
from tests.rows import each_row


@each_row(
    ("line", "needs"),
    [
        pytest.param(line, needs, id=line)
        for line, needs in {
            "gcloud compute addresses list --global --impersonate-service-account=x": "--impersonate-service-account=x",
            "gcloud secrets list --show-deleted --flags-file=x": "--flags-file=x",
            "gcloud compute instances list --version --account=x": "--account=x",
            "gcloud compute instances list --trace-token x": "--trace-token",
            "glab mr list --closed -R=example.com/a/b": "-R=example.com/a/b",
            "docker compose build --push --builder=x web": "--push --builder=x",
            "docker-compose build --push --builder=x web": "--push --builder=x",
            "docker compose up -w --rmi=x": "up --rmi=x",
            "docker stack rm -d --unheard-of": "rm -d --unheard-of",
            "docker compose down -v": "down -v",
            "podman volume ls -n --unheard-of": "--unheard-of",
            "podman logs -n --unheard-of web": "--unheard-of",
            "docker container logs -f --unheard-of web": "--unheard-of",
            "aws iam list-policies --only-attached --profile=x": "--profile=x",
            "az group list --tag --subscription=x": "--subscription=x",
            "az account lock list --resource-group --subscription=x": "--subscription=x",
            "redis-cli --verbose flushall": "--verbose redis-cli flushall",
            "redis-cli --askpass flushall": "--askpass redis-cli flushall",
            "redis-cli -X get flushall": "-X redis-cli flushall",
            "redis-cli --memkeys-samples get flushall": "--memkeys-samples redis-cli flushall",
        }.items()
    ],
)
def test_option_without_a_value_hides_none(line: str, needs: str) -> None:
    """The word behind it is read as the program reads it."""
    assert required_words(line) == needs


@each_row(
    "operation",
    [
        *("lightsail get-bucket-access-keys", "lightsail get-instance-access-details", "athena get-session-endpoint"),
        *("lakeformation get-temporary-glue-partition-credentials", "ssm get-access-token", "ivs get-stream-key"),
        *("cognito-idp list-user-pool-client-secrets", "sts get-web-identity-token", "datazone get-connection"),
        *("storagegateway describe-chap-credentials", "chime list-bots", "codepipeline get-job-details"),
    ],
)
def test_answer_with_a_key_is_named(operation: str) -> None:
    """The model of the service says that a password, token or key is printed."""
    assert required_words(f"aws {operation}") == operation.split()[1]


@each_row(
    "operation",
    [
        *("lambda get-function-configuration", "lambda list-functions", "ecs describe-task-definition"),
        *("batch describe-jobs", "codebuild batch-get-projects", "ec2 describe-instance-attribute"),
        *("elasticbeanstalk describe-configuration-settings", "autoscaling describe-launch-configurations"),
    ],
)
def test_answer_with_an_environment_is_named(operation: str) -> None:
    """Keys and passwords lie in a program's variables and in a server's user data."""
    assert required_words(f"aws {operation}") == operation.split()[1]


@each_row(
    ("command", "word"),
    [
        ("cosmosdb list-read-only-keys", "list-read-only-keys"),
        ("acr connected-registry list-client-tokens", "list-client-tokens"),
        ("ams streaming-locator list-content-keys", "list-content-keys"),
        ("synapse integration-runtime list-auth-key", "list-auth-key"),
        ("network vpn-connection shared-key show", "shared-key"),
        ("databoxedge device storage-account-credential list", "storage-account-credential"),
    ],
)
def test_command_of_az_that_prints_a_key_is_named(command: str, word: str) -> None:
    """Its name begins as one that only lists."""
    assert word in required_words(f"az {command}").split()


@pytest.mark.parametrize("service", ["amplify list-apps", "mediapackage list-channels", "cloudhsmv2 describe-clusters"])
def test_service_whose_descriptions_hold_passwords_is_named(service: str) -> None:
    """Other services have operations of the same names that are harmless."""
    assert required_words(f"aws {service}") == service.split(maxsplit=1)[0]


@each_row(
    "line",
    [
        *("yarn install --production", "yarn install --production=false --frozen-lockfile", "bat --completion bash"),
        *("docker ps -n 5", "docker logs -n 50 web", "podman logs -n web", "docker compose config --hash '*'"),
        *("docker container logs -f web", "podman ps --ns", "aws iam list-policies --only-attached --scope Local"),
        *("gcloud compute addresses list --global", "gcloud secrets list --show-deleted", "glab mr list --closed"),
        *("az group list --tag env=dev", "az vm list --resource-group web -o table", "az vm list --resource-group=web"),
        *("aws codecommit list-branches --repository-name x", "aws ecs describe-clusters"),
    ],
)
def test_everyday_lines_need_no_name(line: str) -> None:
    """What is ordinary stays so."""
    assert required_words(line) == ""
