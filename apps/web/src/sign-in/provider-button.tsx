import { useEffect, useState } from 'react'
import { errorText } from '../base/error-text.logic.ts'
import { Button } from '../parts/button.tsx'
import { providerName, startAtProvider } from './provider-sign-in.ts'

/** A button that signs in with the OpenID provider, if the server has one. */
export function ProviderButton({ code }: { code?: string }) {
  const [name, setName] = useState<string>()
  const [problem, setProblem] = useState<unknown>()
  useEffect(() => {
    providerName().then(setName, () => undefined)
  }, [])
  if (name === undefined) return null
  return (
    <div className="pt-3">
      <Button onClick={() => void startAtProvider(code).catch(setProblem)}>Sign in with {name}</Button>
      {problem !== undefined && (
        <p role="alert" className="pt-2 text-sm text-bad">
          {errorText(problem)}
        </p>
      )}
    </div>
  )
}
