from chainserve.triton_io.models.generation import GenerationModel as TritonPythonModel
