"""A model provider: a server that speaks Chat Completions at an address of its own, with a key of its own.

A provider with another protocol gives ``connect`` a class with the two methods of ``codegate.candidates.Provider``.
"""

from codegate.candidates.openai import OpenAIProvider
from codegate.candidates.providers import ModelProvider

PROVIDER = ModelProvider(
    address="https://models.shout.example/v1",
    hosts=("models.shout.example",),
    key_variable="SHOUT_API_KEY",
    example="shout-1.2",
    connect=OpenAIProvider,
)
