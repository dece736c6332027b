from chainserve.triton_io.models.chain import ChainModel as TritonPythonModel
