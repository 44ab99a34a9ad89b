"""Google's Gemini models, through Google's API for OpenAI clients.

https://ai.google.dev/gemini-api/docs/openai
"""

from typing import Final

from codegate.candidates.openai import OpenAIProvider
from codegate.candidates.providers import ModelProvider

PROVIDER: Final = ModelProvider(
    address="https://generativelanguage.googleapis.com/v1beta/openai",
    hosts=("generativelanguage.googleapis.com",),
    key_variable="GEMINI_API_KEY",
    example="gemini-3.8-flash",
    connect=OpenAIProvider,
    protocols=("chat",),
    telemetry_name="gcp.gemini",
    address_variable="GOOGLE_GEMINI_BASE_URL",
)
