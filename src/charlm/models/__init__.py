"""The models, one to a module; each answers the contract of `charlm.models.contract`."""
