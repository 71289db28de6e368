import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import { Problem } from '../parts/problem.tsx'

/** The only page of a browser that is not signed in. The server's message says how to get a link. */
export default function SignedOutPage() {
  const [text, setText] = useState('')
  useEffect(() => {
    client.call('listDevices').then(
      () => location.reload(),
      (thrown) => setText(errorText(thrown)),
    )
  }, [])
  return <Problem title="This browser is not signed in" text={text} />
}
