import { useCallback, useEffect, useState } from 'react'
import { toastError } from '../parts/toasts.tsx'

/**
 * A list that the server stores, undefined until it is loaded. `load` must not change between renders. `change`
 * makes a change on the server and then loads the list again; errors are shown as toasts.
 */
export function useServerList<Item>(load: () => Promise<readonly Item[]>) {
  const [list, setList] = useState<readonly Item[]>()
  const reload = useCallback(() => load().then(setList, toastError), [load])
  useEffect(() => void reload(), [reload])
  const change = (work: () => Promise<unknown>) => void work().catch(toastError).then(reload)
  return { list, reload: () => void reload(), change }
}
