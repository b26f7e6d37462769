"""Samplers that SGDD is compared with: DPS, SVDD-PM and SMC on the same prior and likelihood."""
