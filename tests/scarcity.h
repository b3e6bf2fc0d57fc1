/* Memory that ends, for tests: a thread lacks it for one of its allocations. */
#ifndef SCARCITY_H
#define SCARCITY_H

/* Of this thread's allocations from now on, the one that is given, counted from 1 on, is refused; 0: none.
   Each counts the number down, so that 0 stands there once one was refused. */
void scarcity_begin(unsigned long *allocation);
void scarcity_end(void);

#endif
