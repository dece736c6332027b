from chainserve.triton_io.models.intent import IntentModel as TritonPythonModel
