from chainserve.triton_io.models.release import ReleaseModel as TritonPythonModel
