"""The CPU engine: OpenVINO GenAI's continuous batching behind the tensors of NVIDIA's `tensorrt_llm` model."""
