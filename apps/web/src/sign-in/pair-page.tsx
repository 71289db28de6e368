import { pairingCodeOf } from '@parley/protocol'
import { type FormEvent, useEffect, useState } from 'react'
import { errorText } from '../base/error-text.logic.ts'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/problem.tsx'
import { isKnownHere, signInWithCode, suggestedName } from './sign-in.ts'
import { SignInField } from './sign-in-field.tsx'

const scanned = pairingCodeOf(location.hash.slice(1))
// Remove the code from the address and the history.
history.replaceState(null, '', 'pair')
addEventListener('hashchange', () => location.reload())

/** Signs this browser in with the pairing code of a link, or with a code that the person types. */
export default function PairPage() {
  const [isBusy, setBusy] = useState(true)
  const [problem, setProblem] = useState('')
  const [code, setCode] = useState('')
  const [name, setName] = useState(suggestedName)
  const attempt = async (letters: string | undefined) => {
    setBusy(true)
    setProblem('')
    try {
      if (await isKnownHere()) return location.replace('.')
      if (letters !== undefined) {
        await signInWithCode(letters, { name: name.trim() })
        return location.replace('.')
      }
    } catch (thrown) {
      setProblem(errorText(thrown))
    }
    setBusy(false)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: a scanned code is used once
  useEffect(() => {
    if (isStarted) return
    isStarted = true
    void attempt(scanned)
  }, [])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const letters = pairingCodeOf(code)
    if (letters !== undefined) return void attempt(letters)
    setProblem('A pairing code has 12 or 16 letters and digits, without 0, 1, I and O.')
  }
  if (isBusy) return <Problem title="Signing in" text="One moment." />
  return (
    <Problem
      title="Pair this device"
      text="Type the code that parley pair printed, or that another browser shows in its settings under Browsers."
    >
      <form aria-label="Pair this device" onSubmit={submit} className="flex flex-col gap-3 pt-4 text-sm">
        <SignInField
          label="Code"
          value={code}
          onWrite={setCode}
          placeholder="ABCD-EFGH-JKMN"
          isCode
          isFirst
        />
        <SignInField label="Name of this device" value={name} onWrite={setName} />
        <p role="alert" className="text-bad [overflow-wrap:anywhere] empty:hidden">
          {problem}
        </p>
        <Button look="primary" type="submit">
          Sign in
        </Button>
      </form>
    </Problem>
  )
}

let isStarted = false
