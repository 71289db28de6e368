import { createStore, useStore } from './store.ts'

/** The search text of the find bar, in lower case. Empty if there is no search. */
export const findText = createStore('')

/** True if the text contains the search text. Collapsed content must then be shown. */
export function useMatchesFind(text: string): boolean {
  return useStore(findText, (wanted) => wanted !== '' && text.toLowerCase().includes(wanted))
}
