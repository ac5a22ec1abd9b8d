class QsimExSimulator: pass
