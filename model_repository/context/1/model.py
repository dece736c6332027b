from chainserve.triton_io.models.context import ContextModel as TritonPythonModel
