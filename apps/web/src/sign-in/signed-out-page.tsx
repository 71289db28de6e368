import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { problemWords } from '../base/error-text.logic.ts'
import { Problem } from '../parts/problem.tsx'

/** The only page of a browser that is not signed in. The server's message says how to get a link. */
export default function SignedOutPage() {
  const [words, setWords] = useState('')
  useEffect(() => {
    client.call('listDevices').then(
      () => location.reload(),
      (thrown) => setWords(problemWords(thrown)),
    )
  }, [])
  return <Problem title="This browser is not signed in" text={words} />
}
