"""OpenAI's models in the user's own Azure resource.

Azure's v1 API is that of OpenAI: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
"""

from typing import Final

from codegate.candidates.openai import OpenAIProvider
from codegate.candidates.providers import EXAMPLE_CANDIDATE, ModelProvider
from codegate.errors import UsageError


def _no_address() -> str:
    raise UsageError(
        "azure has no address in common: each resource has its own.",
        "Set `base_url` of the candidate in codegate.yml to https://RESOURCE.openai.azure.com/openai/v1.",
    )


class AzureProvider(OpenAIProvider):
    """OpenAI's API in Azure, which charges for declined prompts.

    https://learn.microsoft.com/azure/ai-foundry/openai/how-to/manage-costs
    """

    charges_declined = True


PROVIDER: Final = ModelProvider(
    address=_no_address,
    hosts=(),
    customer_hosts=("*.openai.azure.com", "*.services.ai.azure.com", "*.cognitiveservices.azure.com"),
    key_variable="AZURE_OPENAI_API_KEY",
    example=EXAMPLE_CANDIDATE.partition(":")[2],
    connect=AzureProvider,
    # Azure's Responses API names the deployment, not the model that answered, so only Chat Completions is used.
    protocols=("chat",),
    telemetry_name="azure.ai.openai",
)
