import { useState } from 'react'
import { errorText } from './error-text.logic.ts'

/**
 * Sends the contents of a form. A second call while the first is pending is ignored. If sending fails, the
 * form shows the problem.
 */
export function useSubmission() {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (send: () => Promise<unknown>) => {
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      await send()
    } catch (thrown) {
      setProblem(errorText(thrown))
    }
    setBusy(false)
  }
  return { problem, isBusy, submit }
}
