from chainserve.triton_io.models.moderation import ModerationModel as TritonPythonModel
