import { hasCode } from '@parley/protocol'
import { useCallback, useEffect, useState } from 'react'
import { errorText } from '../base/error-text.logic.ts'
import { toastError } from '../parts/toasts.tsx'

/**
 * A list that the server stores, undefined until it is loaded. `load` must not change between renders. `change`
 * makes a change on the server and then loads the list again; errors are shown as toasts. `problem` says why this
 * person may not read the list.
 */
export function useServerList<Item>(load: () => Promise<readonly Item[]>) {
  const [list, setList] = useState<readonly Item[]>()
  const [problem, setProblem] = useState<string>()
  const reload = useCallback(
    () =>
      load().then(setList, (thrown) => {
        if (hasCode(thrown, 'forbidden')) setProblem(errorText(thrown))
        else toastError(thrown)
      }),
    [load],
  )
  useEffect(() => void reload(), [reload])
  const change = (work: () => Promise<unknown>) => void work().catch(toastError).then(reload)
  return { list, problem, reload: () => void reload(), change }
}
