"""stub to be"""
class QsimExTrialResult: pass
